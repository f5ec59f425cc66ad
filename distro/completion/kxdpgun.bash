# SPDX-License-Identifier: BSD-2-Clause
# Completion of kxdpgun for bash: its options, as the help lists them, files, interfaces, modes and profiles.
_kxdpgun() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} word
	COMPREPLY=()
	case $previous in
	-i | --infile | -G | --qlog | --latency | --verify)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	-I | --interface)
		# Names may be anything: quoted, and never for compgen -W, which expands them.
		mapfile -t COMPREPLY < <(ls /sys/class/net 2>/dev/null | while IFS= read -r word; do [[ $word != "$current"* ]] || printf '%q\n' "$word"; done)
		;;
	-m | --mode) mapfile -t COMPREPLY < <(compgen -W 'auto copy generic inject' -- "$current") ;;
	--profile) mapfile -t COMPREPLY < <(compgen -W 'query axfr ixfr notify update cookies' -- "$current") ;;
	esac
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(kxdpgun -h 2>/dev/null | sed -nE 's/^ +(-., )?(--[a-z-]+).*/\2/p')" -- "$current")
	fi
}
complete -F _kxdpgun kxdpgun
