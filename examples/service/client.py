"""Send cells to a running `anyk`, one at a time, and read the answers: one line of JSON in, one line out.

    python client.py solve urllc
    python client.py allocate price.safetensors
"""

import json
import statistics
import subprocess
import sys
import time

command = ["anyk", *(sys.argv[1:] or ["solve", "urllc"]), "--input", "-", "--json"]
with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as anyk:
    time.sleep(1)  # a service is usually ready before the first cell
    taken = []
    for cell in range(100):
        users = [{"distance_m": 60 + (37 * cell + 23 * user) % 180} for user in range(20)]
        started = time.perf_counter()
        anyk.stdin.write(json.dumps({"cell": cell, "users": users}) + "\n")
        answer = json.loads(anyk.stdout.readline())
        taken.append(1e6 * (time.perf_counter() - started))
        if answer.get("error") or answer["status"] == "infeasible":
            sys.exit(f"cell {cell}: {answer}")
    anyk.stdin.close()
print(f"{answer['total_bandwidth_hz']:.1f} Hz; first answer {taken[0]:.0f} µs, median {statistics.median(taken):.0f} µs")
