# SPDX-License-Identifier: BSD-2-Clause
# Completion of knotc for bash: knotc itself says what fits, from its table of commands, the configuration and the server.
_knotc() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	case $previous in
	-c | --config | -C | --confdb | -s | --socket)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	-F | --format)
		mapfile -t COMPREPLY < <(compgen -W "3.5 3.6 json" -- "$current")
		return
		;;
	-m | --max-conf-size | -t | --timeout) return ;;
	esac
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(knotc -h 2>/dev/null | grep -oE -- '--[a-z-]+')" -- "$current")
		return
	fi
	compopt -o nospace 2>/dev/null
	mapfile -t COMPREPLY < <(knotc --complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$current" 2>/dev/null)
}
complete -F _knotc knotc
