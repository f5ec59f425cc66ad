# SPDX-License-Identifier: BSD-2-Clause
# Completion of kzoneimage for bash: its options, files and folders, and the zones that have an image where the words before say.
_kzoneimage() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} i word
	local -a where=()
	COMPREPLY=()
	case $previous in
	-c | --config | -d | --dir)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	esac
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(kzoneimage -h 2>/dev/null | sed -nE 's/^ +(-., )?(--[a-z-]+).*/\2/p')" -- "$current")
		return
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-c | --config | -d | --dir) where=("${COMP_WORDS[i]}" "${COMP_WORDS[i + 1]}") ;;
		esac
	done
	# Names are others' words: quoted, and never for compgen -W, which expands them.
	mapfile -t COMPREPLY < <(kzoneimage "${where[@]}" 2>/dev/null | awk '$1 ~ /[.]$/ { print $1 }' | while IFS= read -r word; do [[ $word != "$current"* ]] || printf '%q\n' "$word"; done)
}
complete -F _kzoneimage kzoneimage
