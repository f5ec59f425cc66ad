# SPDX-License-Identifier: BSD-2-Clause
# Completion of kjournalprint for bash: its options, and the zones that have a journal where the words before say that it is.
_kjournalprint() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} i word
	local -a where=()
	COMPREPLY=()
	case $previous in
	-c | --config | -C | --confdb | -D | --dir)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	-l | --limit | -s | --serial) return ;;
	esac
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(kjournalprint -h 2>/dev/null | grep -oE -- '--[a-z-]+')" -- "$current")
		return
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-c | --config | -C | --confdb | -D | --dir) where=("${COMP_WORDS[i]}" "${COMP_WORDS[i + 1]}") ;;
		esac
	done
	# Names are others' words: quoted, and never for compgen -W, which expands them.
	mapfile -t COMPREPLY < <(kjournalprint -x "${where[@]}" -z 2>/dev/null | while IFS= read -r word; do [[ $word != "$current"* ]] || printf '%q\n' "$word"; done)
}
complete -F _kjournalprint kjournalprint
