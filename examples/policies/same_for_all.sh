#!/bin/sh
# A policy for URLLC in the shell: the same power and the same 400 kHz for everyone, whoever it is.
#
#     anyk evaluate --problem urllc 'cmd:sh examples/policies/same_for_all.sh' --k 1,10,100
#
# It reads a cell on each line and writes an allocation on each. The judge says what it is worth: near the base station
# it wastes bandwidth, at the edge of a full cell users are not served.
while IFS= read -r cell; do
    printf '%s\n' "$cell" | grep -o '"id":"[^"]*"' | awk '
        { ids[NR] = $0 }
        END {
            printf "{\"users\":["
            for (i = 1; i <= NR; i++)
                printf "%s{%s,\"power_w\":%.9f,\"bandwidth_hz\":400000}", (i > 1 ? "," : ""), ids[i], 19.952623 / NR
            print "]}"
        }'
done
