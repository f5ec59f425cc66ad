# SPDX-License-Identifier: BSD-2-Clause
# Completion of khost for fish: its options, and types of records.
complete -c khost -f
complete -c khost -s 4 -d 'IPv4 only'
complete -c khost -s 6 -d 'IPv6 only'
complete -c khost -s a -d 'the same as -t ANY -v'
complete -c khost -s c -x -a 'IN CH ANY' -d 'class'
complete -c khost -s d -d 'debug messages'
complete -c khost -s r -d 'without recursion'
complete -c khost -s R -x -d 'repeats over UDP'
complete -c khost -s T -d 'over TCP'
complete -c khost -s t -x -a 'A AAAA ANY AXFR CAA CDNSKEY CDS CNAME DNSKEY DS HTTPS MX NAPTR NOTIFY NS NSEC3PARAM PTR SOA SRV SVCB TLSA TXT' -d 'type'
complete -c khost -s v -d 'whole messages'
complete -c khost -s w -d 'wait for ever'
complete -c khost -s W -x -d 'seconds to wait for each reply'
complete -c khost -s h -l help -d 'print the options'
complete -c khost -s V -l version -d 'print the version'
