# SPDX-License-Identifier: BSD-2-Clause
# Completion of knsupdate for fish: its options, and files.
complete -c knsupdate -s T -l tcp
complete -c knsupdate -s v
complete -c knsupdate -s S -l tls
complete -c knsupdate -s Q -l quic
complete -c knsupdate -s p -l port -x
complete -c knsupdate -s r -l retry -x
complete -c knsupdate -s t -l timeout -x
complete -c knsupdate -s y -l tsig -x
complete -c knsupdate -s k -l tsigfile -r -F
complete -c knsupdate -s H -l hostname -x
complete -c knsupdate -s P -l pin -x
complete -c knsupdate -s A -l ca
complete -c knsupdate -s E -l certfile -r -F
complete -c knsupdate -s K -l keyfile -r -F
complete -c knsupdate -s s -l sni -x
complete -c knsupdate -s d -l debug
complete -c knsupdate -s h -l help
complete -c knsupdate -s V -l version
