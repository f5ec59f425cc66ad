# SPDX-License-Identifier: BSD-2-Clause
# Completion of knotc for fish: knotc itself says what fits, from its table of commands, the configuration and the server.
function __knotc_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    if string match -q -- '-*' $current
        knotc -h 2>/dev/null | grep -oE -- '--[a-z-]+'
    else
        knotc --complete $words[2..-1] "$current" 2>/dev/null | string trim --right
    end
end
complete -c knotc -f -a '(__knotc_complete)'
complete -c knotc -s c -l config -r -F
complete -c knotc -s C -l confdb -r -F
complete -c knotc -s s -l socket -r -F
