# SPDX-License-Identifier: BSD-2-Clause
# Completion of kzonecheck for fish: its options, and files.
complete -c kzonecheck -s o -l origin -x
complete -c kzonecheck -s d -l dnssec -x -a 'on off'
complete -c kzonecheck -s z -l zonemd
complete -c kzonecheck -s t -l time -x
complete -c kzonecheck -s j -l jobs -x
complete -c kzonecheck -s l -l lines
complete -c kzonecheck -s J -l json
complete -c kzonecheck -s p -l print
complete -c kzonecheck -s v -l verbose
complete -c kzonecheck -s h -l help
complete -c kzonecheck -s V -l version
