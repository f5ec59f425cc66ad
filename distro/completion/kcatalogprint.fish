# SPDX-License-Identifier: BSD-2-Clause
# Completion of kcatalogprint for fish: its options, files and folders, and the catalogs and members that the words before lead to.
function __kcatalogprint_column
    set -l words (commandline -opc)
    set -l where
    for i in (seq 2 (count $words))
        if contains -- $words[$i] -c --config -C --confdb -D --dir
            set where $words[$i] $words[(math $i + 1)]
        end
    end
    kcatalogprint $where 2>/dev/null | awk -v column=$argv[1] '!/^;/ && $3 ~ /[.]$/ { print $column }' | sort -u
end
complete -c kcatalogprint -f
complete -c kcatalogprint -s c -l config -r -F
complete -c kcatalogprint -s C -l confdb -r -F
complete -c kcatalogprint -s D -l dir -r -F
complete -c kcatalogprint -s a -l catalog -x -a '(__kcatalogprint_column 3)'
complete -c kcatalogprint -s m -l member -x -a '(__kcatalogprint_column 1)'
complete -c kcatalogprint -s j -l json
complete -c kcatalogprint -s h -l help
complete -c kcatalogprint -s V -l version
