#!/bin/sh
# A policy for URLLC in the shell: equal power and 400 kHz for every user.
#
#     anyk evaluate --problem urllc 'cmd:sh examples/policies/same_for_all.sh' --k 1,10,100
#
# It reads one cell per line and writes one allocation per line. It wastes bandwidth near the base station, and it does
# not serve users at the edge of a full cell.
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
