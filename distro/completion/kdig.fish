# SPDX-License-Identifier: BSD-2-Clause
# Completion of kdig for fish: its options, as the help lists them, and types of records.
function __kdig_options
    kdig -h 2>/dev/null | string replace -rf '^ +\+\[no\]([a-z-]+)\S* +(.*)' '+$1\t$2'
    kdig -h 2>/dev/null | string replace -rf '^ +\+\[no\]([a-z-]+)\S* .*' '+no$1'
end
complete -c kdig -f -a '(__kdig_options)'
complete -c kdig -f -a 'A AAAA ANY AXFR CAA CDNSKEY CDS CNAME DNSKEY DS HTTPS MX NAPTR NOTIFY NS NSEC3PARAM PTR SOA SRV SVCB TLSA TXT'
complete -c kdig -o 4
complete -c kdig -o 6
complete -c kdig -o b -x
complete -c kdig -o c -x -a 'IN CH ANY'
complete -c kdig -o d
complete -c kdig -o E -r -F
complete -c kdig -o f -r -F
complete -c kdig -o G -r -F
complete -c kdig -o k -r -F
complete -c kdig -o p -x
complete -c kdig -o q -x
complete -c kdig -o t -x
complete -c kdig -o x -x
complete -c kdig -o y -x
complete -c kdig -s h -l help
complete -c kdig -s V -l version
