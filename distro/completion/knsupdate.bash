# SPDX-License-Identifier: BSD-2-Clause
# Completion of knsupdate for bash: its options, as the help lists them, and files.
_knsupdate() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	case $previous in
	-p | --port | -r | --retry | -t | --timeout | -y | --tsig | -H | --hostname | -P | --pin | -s | --sni) return ;;
	=) ;; # of --ca=FILE, where bash begins a word
	-k | --tsigfile | -E | --certfile | -K | --keyfile) ;;
	*)
		if [[ $current == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$(knsupdate -h 2>/dev/null | grep -oE -- '--[a-z-]+')" -- "$current")
			return
		fi
		;;
	esac
	[[ $current == = ]] && current=''
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
complete -F _knsupdate knsupdate
