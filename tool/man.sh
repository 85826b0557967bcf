#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the man pages of the command by help2man, which takes them from its --help: quarry.1 and, for each command,
# quarry-COMMAND.1.
#
#   man.sh HELP2MAN QUARRY FOLDER     both programs; the folder, which is there
set -eu
help2man=$1
quarry=$(realpath "$2")
cd "$3"

# argp breaks no lines: troff does.
export ARGP_HELP_FMT=rmargin=10000
version=$("$quarry" --version | cut -d ' ' -f 2)
"$quarry" --help | sed -n '/^Commands:$/,/^$/s/^  \([a-z][a-z]*\)  *\(.*\)/\1 \2/p' >commands

# page NAME SUMMARY WORD...: of what the command prints after the words.
page() {
    name=$1 summary=$2
    shift 2
    printf '#!/bin/sh\nexec %s %s "$@"\n' "'$quarry'" "$*" >"$name"
    chmod +x "$name"
    "$help2man" --no-info --name "$summary" --version-string "$version" --source "Quarry $version" --manual Quarry \
        --include see-also --output "$name.1" "./$name"
    rm "$name"
}

{
    echo '[see also]'
    sed 's/\([a-z]*\) .*/.BR quarry-\1 (1),/; $s/,$//' commands
} >see-also
mv see-also of-all
printf '[see also]\n.BR quarry (1)\n' >see-also
while read -r command summary; do
    page "quarry-$command" "$summary" "$command"
done <commands
# Last, so that all are made again if one could not be.
mv of-all see-also
page quarry 'malloc and free for massively parallel programs'
rm commands see-also
