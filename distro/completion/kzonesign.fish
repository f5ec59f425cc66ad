# SPDX-License-Identifier: BSD-2-Clause
# Completion of kzonesign for fish: its options, and files and folders behind those that take one.
complete -c kzonesign -f
complete -c kzonesign -s c -l config -r -F
complete -c kzonesign -s C -l confdb -r -F
complete -c kzonesign -s o -l outdir -r -F
complete -c kzonesign -s r -l rollover
complete -c kzonesign -s v -l verify
complete -c kzonesign -s t -l time -x
complete -c kzonesign -s j -l json
complete -c kzonesign -s h -l help
complete -c kzonesign -s V -l version
