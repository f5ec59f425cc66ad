# SPDX-License-Identifier: BSD-2-Clause
# Completion of keymgr for fish: commands and attributes from its help, zones and keys from the key database that the words before lead to.
function __keymgr_argument
    set -l words (commandline -opc)
    set -l where
    set -l arguments
    set -l i 2
    while test $i -le (count $words)
        switch $words[$i]
            case -c --config -C --confdb -D --dir
                set where $words[$i] $words[(math $i + 1)]
                set i (math $i + 1)
            case --until --policy --ds-after --ds-ttl
                set i (math $i + 1)
            case '-*'
            case '*'
                set -a arguments $words[$i]
        end
        set i (math $i + 1)
    end
    set -l count (count $arguments)
    if test $count = 0
        keymgr -x $where -l 2>/dev/null
        return
    else if test $count = 1
        keymgr -h 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z0-9-]\{1,\}\) .*/\1/p'
        return
    end
    switch $count.$arguments[2]
        case 2.list 2.plan 2.trash-list
            printf 'human\niso\n'
        case 2.set 2.delete 2.ds 2.dnskey
            keymgr -x $where $arguments[1] list 2>/dev/null | cut -d ' ' -f 1
        case 2.import-trash 2.trash-discard
            keymgr -x $where $arguments[1] trash-list 2>/dev/null | cut -d ' ' -f 1
        case 2.import-bind 2.import-pub 2.import-pem 2.sign-ksr 2.validate-skr 2.import-skr
            __fish_complete_path (commandline -ct)
        case '*.generate' '*.set' '*.import-pem' '*.import-pkcs11' '*.import-trash'
            keymgr -h 2>/dev/null | sed -n '/^Key attributes:/,$p' | grep -oE '[a-z_-]+=( |$)' | string trim
    end
end
complete -c keymgr -f -a '(__keymgr_argument)'
complete -c keymgr -s c -l config -r -F
complete -c keymgr -s C -l confdb -r -F
complete -c keymgr -s D -l dir -r -F
complete -c keymgr -s t -l tsig -x
complete -c keymgr -s e -l extended
complete -c keymgr -s j -l json
complete -c keymgr -s l -l list
complete -c keymgr -l until -x
complete -c keymgr -l policy -r -F
complete -c keymgr -l ds-after -x
complete -c keymgr -l ds-ttl -x
complete -c keymgr -l svg
complete -c keymgr -s x -l mono
complete -c keymgr -s X -l color
complete -c keymgr -s h -l help
complete -c keymgr -s V -l version
