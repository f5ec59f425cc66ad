# SPDX-License-Identifier: BSD-2-Clause
# Completion of kxdpgun for fish: its options, files, interfaces, modes and profiles.
complete -c kxdpgun -f
complete -c kxdpgun -s t -l duration -x
complete -c kxdpgun -s T -l tcp
complete -c kxdpgun -s U -l quic
complete -c kxdpgun -s Q -l qps -x
complete -c kxdpgun -s b -l batch -x
complete -c kxdpgun -s r -l drop
complete -c kxdpgun -s p -l port -x
complete -c kxdpgun -s F -l affinity -x
complete -c kxdpgun -s i -l infile -r -F
complete -c kxdpgun -s B -l binary
complete -c kxdpgun -s I -l interface -x -a '(ls /sys/class/net 2>/dev/null)'
complete -c kxdpgun -s l -l local -x
complete -c kxdpgun -s L -l local-mac -x
complete -c kxdpgun -s R -l remote-mac -x
complete -c kxdpgun -s v -l vlan -x
complete -c kxdpgun -s e -l edns-size -x
complete -c kxdpgun -s m -l mode -x -a 'auto copy generic inject'
complete -c kxdpgun -s G -l qlog -r -F
complete -c kxdpgun -s j -l json
complete -c kxdpgun -s S -l stats-period -x
complete -c kxdpgun -l pcap
complete -c kxdpgun -l times
complete -c kxdpgun -l zipf -x
complete -c kxdpgun -l random -x
complete -c kxdpgun -l seed -x
complete -c kxdpgun -l profile -x -a 'query axfr ixfr notify update cookies'
complete -c kxdpgun -l serial -x
complete -c kxdpgun -l tsig -x
complete -c kxdpgun -l sockets
complete -c kxdpgun -l threads -x
complete -c kxdpgun -l clients -x
complete -c kxdpgun -l ramp -x
complete -c kxdpgun -l knee -x
complete -c kxdpgun -l timeout -x
complete -c kxdpgun -l latency -r -F
complete -c kxdpgun -l verify -r -F
complete -c kxdpgun -l show-wrong -x
complete -c kxdpgun -l top
complete -c kxdpgun -s h -l help
complete -c kxdpgun -s V -l version
