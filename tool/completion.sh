# shellcheck shell=bash disable=SC2154 # the tables
# SPDX-License-Identifier: Apache-2.0
# Completion of quarry's command line, for bash.  The build puts the tables before it, which `quarry --completion` prints:
#
#   _quarry_options[COMMAND]          long options; those with a value end in =
#   _quarry_values['COMMAND OPTION']  the words that it takes, if it takes words; the first is a comma if it takes several

# Readline replaces what is behind the last = of a word.  Where nothing is offered, names of files are.
_quarry() {
    local line=${COMP_LINE:0:COMP_POINT} values='' option word kept='' IFS=$' \t\n' words
    COMPREPLY=()
    read -ra words <<<"$line"
    [[ $line != *[[:space:]] ]] || words+=('')
    # Options before the command.
    while [[ ${words[1]-} == --seed=* || (${#words[@]} -gt 2 && ${words[1]} == --@(seed|weak)) ]]; do
        [[ ${words[1]} != --seed ]] || unset 'words[2]'
        unset 'words[1]'
        words=("${words[@]}")
    done
    ((${#words[@]} > 1)) || return 0 # at the number of --seed
    word=${words[-1]}
    if ((${#words[@]} == 2)) || [[ ${words[1]} == help && $word != -* ]]; then
        values="${!_quarry_options[*]}"
        ((${#words[@]} > 2)) || values+=' --help --seed= --version --weak'
    else
        option=${words[-2]}
        if [[ $word == --*=* ]]; then
            option=${word%%=*} word=${word#*=}
        fi
        values=${_quarry_values["${words[1]} $option"]-}
        if [[ -z $values && $word == -* ]]; then
            values=${_quarry_options[${words[1]}]-}
        elif [[ $values == ,* ]]; then
            values=${values#,}
            kept=${word%"${word##*,}"} word=${word##*,}
            kept=${kept##*=}
        fi
    fi
    mapfile -t COMPREPLY < <(compgen -P "$kept" -W "$values" -- "$word" | sort -u)
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace
}
complete -o bashdefault -o default -F _quarry quarry
