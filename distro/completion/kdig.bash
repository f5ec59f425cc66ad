# SPDX-License-Identifier: BSD-2-Clause
# Completion of kdig for bash: its options, as the help lists them, and types of records.
_kdig() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local types='A AAAA ANY AXFR CAA CDNSKEY CDS CNAME DNSKEY DS HTTPS IXFR= MX NAPTR NOTIFY NS NSEC3PARAM PTR SOA SRV SVCB TLSA TXT'
	COMPREPLY=()
	case $previous in
	-k | -E | -G | -f)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	-c)
		mapfile -t COMPREPLY < <(compgen -W 'IN CH ANY' -- "$current")
		return
		;;
	-b | -p | -q | -x | -y) return ;;
	esac
	case $current in
	+no*) mapfile -t COMPREPLY < <(compgen -W "$(kdig -h 2>/dev/null | sed -nE 's/^ +\+\[no\]([a-z-]+).*/+no\1/p') +nsid" -- "$current") ;;
	+*) mapfile -t COMPREPLY < <(compgen -W "$(kdig -h 2>/dev/null | sed -nE 's/^ +\+\[no\]([a-z-]+(=|\[=)?).*/+\1/p' | tr -d '[') +no" -- "$current") ;;
	-*) mapfile -t COMPREPLY < <(compgen -W '-4 -6 -b -c -d -E -f -G -k -p -q -t -x -y -h --help -V --version' -- "$current") ;;
	*) mapfile -t COMPREPLY < <(compgen -W "$types" -- "${current^^}") ;;
	esac
	[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
	return 0
}
complete -F _kdig kdig
