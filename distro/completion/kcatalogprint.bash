# SPDX-License-Identifier: BSD-2-Clause
# Completion of kcatalogprint for bash: its options, files and folders, and the catalogs and members that the words before lead to.
_kcatalogprint() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} column i word
	local -a where=()
	COMPREPLY=()
	case $previous in
	-c | --config | -C | --confdb | -D | --dir)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	-m | --member) column=1 ;;
	-a | --catalog) column=3 ;;
	*)
		if [[ $current == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$(kcatalogprint -h 2>/dev/null | sed -nE 's/^ +(-., )?(--[a-z-]+).*/\2/p')" -- "$current")
		fi
		return
		;;
	esac
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-c | --config | -C | --confdb | -D | --dir) where=("${COMP_WORDS[i]}" "${COMP_WORDS[i + 1]}") ;;
		esac
	done
	# Names are others' words: quoted, and never for compgen -W, which expands them.
	mapfile -t COMPREPLY < <(kcatalogprint "${where[@]}" 2>/dev/null | awk -v column="$column" '!/^;/ && $3 ~ /[.]$/ { print $column }' | sort -u | while IFS= read -r word; do [[ $word != "$current"* ]] || printf '%q\n' "$word"; done)
}
complete -F _kcatalogprint kcatalogprint
