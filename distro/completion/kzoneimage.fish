# SPDX-License-Identifier: BSD-2-Clause
# Completion of kzoneimage for fish: its options, files and folders, and the zones that have an image where the words before say.
function __kzoneimage_zones
    set -l words (commandline -opc)
    set -l where
    for i in (seq 2 (count $words))
        if contains -- $words[$i] -c --config -d --dir
            set where $words[$i] $words[(math $i + 1)]
        end
    end
    kzoneimage $where 2>/dev/null | awk '$1 ~ /[.]$/ { print $1 }'
end
complete -c kzoneimage -f -a '(__kzoneimage_zones)'
complete -c kzoneimage -s c -l config -r -F
complete -c kzoneimage -s d -l dir -r -F
complete -c kzoneimage -s j -l json
complete -c kzoneimage -s s -l sources
complete -c kzoneimage -s v -l verify
complete -c kzoneimage -s h -l help
complete -c kzoneimage -s V -l version
