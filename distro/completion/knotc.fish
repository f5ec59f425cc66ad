# SPDX-License-Identifier: BSD-2-Clause
# Completion of knotc for fish: knotc itself says what fits, from its table of commands, the configuration and the server.
function __knotc_complete
    set -l words (commandline -opc)[2..-1]
    set -l current (commandline -ct)
    if string match -q -- '-*' $current
        knotc -h 2>/dev/null | string match -ra -- '--[a-z-]+'
        return
    end
    set -l found (knotc --complete $words "$current" 2>/dev/null)
    # fish puts a space behind a word that is the only one. Where knotc has none, the word goes on: `zone[example.]` with `.`
    if test (count $found) = 1; and not string match -q -- '* ' $found[1]
        set -l longer (knotc --complete $words $found[1] 2>/dev/null)
        test (count $longer) = 0; or set found $longer
    end
    string trim --right -- $found
end
complete -c knotc -f -a '(__knotc_complete)'
complete -c knotc -s c -l config -r -F
complete -c knotc -s C -l confdb -r -F
complete -c knotc -s s -l socket -r -F
complete -c knotc -s F -l format -x -a '3.5 3.6 json'
complete -c knotc -s m -l max-conf-size -x
complete -c knotc -s t -l timeout -x
