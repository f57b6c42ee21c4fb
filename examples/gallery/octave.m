% Solve a cell from Octave or MATLAB: AnyK reads and writes JSON.
users = struct('id', {'ann', 'ben', 'cho'}, 'distance_m', {60, 90, 240});
file = fopen('cell.json', 'w');
fprintf(file, '%s', jsonencode(struct('users', users)));
fclose(file);
[status, text] = system('anyk solve urllc cell.json --json 2>error.txt');
if status ~= 0
    error(fileread('error.txt'));
end
answer = jsondecode(text);
for user = answer.users'
    printf('%s: %.3f W, %.1f kHz\n', user.id, user.power_w, user.bandwidth_hz / 1e3);
end
