# SPDX-License-Identifier: BSD-2-Clause
# Completion of kjournalprint for fish: its options, and the zones that have a journal where the words before say that it is.
function __kjournalprint_zones
    set -l words (commandline -opc)
    set -l where
    for i in (seq 2 (count $words))
        if contains -- $words[$i] -c --config -C --confdb -D --dir
            set where $words[$i] $words[(math $i + 1)]
        end
    end
    kjournalprint -x $where -z 2>/dev/null
end
complete -c kjournalprint -f -a '(__kjournalprint_zones)'
complete -c kjournalprint -s c -l config -r -F
complete -c kjournalprint -s C -l confdb -r -F
complete -c kjournalprint -s D -l dir -r -F
complete -c kjournalprint -s l -l limit -x
complete -c kjournalprint -s s -l serial -x
complete -c kjournalprint -s z -l zone-list
complete -c kjournalprint -s M -l merge
complete -c kjournalprint -s H -l check
complete -c kjournalprint -s d -l debug
complete -c kjournalprint -s j -l json
complete -c kjournalprint -s x -l mono
complete -c kjournalprint -s X -l color
complete -c kjournalprint -s h -l help
complete -c kjournalprint -s V -l version
