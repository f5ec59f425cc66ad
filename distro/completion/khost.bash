# SPDX-License-Identifier: BSD-2-Clause
# Completion of khost for bash: its options, and types of records.
_khost() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local types='A AAAA ANY AXFR CAA CDNSKEY CDS CNAME DNSKEY DS HTTPS IXFR= MX NAPTR NOTIFY NS NSEC3PARAM PTR SOA SRV SVCB TLSA TXT'
	COMPREPLY=()
	case $previous in
	-c) mapfile -t COMPREPLY < <(compgen -W 'IN CH ANY' -- "${current^^}") ;;
	-t) mapfile -t COMPREPLY < <(compgen -W "$types" -- "${current^^}") ;;
	-R | -W) ;;
	*) [[ $current != -* ]] || mapfile -t COMPREPLY < <(compgen -W '-4 -6 -a -c -d -r -R -T -t -v -w -W -h --help -V --version' -- "$current") ;;
	esac
	[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
	return 0
}
complete -F _khost khost
