/* Sends cells to a running `anyk`, one at a time, and reads the answers: one line of JSON in, one line out.
 *
 *     cc -Wall -Wextra -Werror -o client client.c && ./client solve urllc
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **given) {
    char *command[64] = {"anyk"};
    int to[2], from[2], words = 1;
    for (int i = 1; i < count && words < 60; i++) command[words++] = given[i];
    command[words++] = "--input", command[words++] = "-", command[words++] = "--json";
    if (pipe(to) || pipe(from)) return perror("pipe"), 1;
    pid_t child = fork();
    if (child < 0) return perror("fork"), 1;
    if (child == 0) {
        dup2(to[0], STDIN_FILENO), dup2(from[1], STDOUT_FILENO);
        close(to[0]), close(to[1]), close(from[0]), close(from[1]);
        execvp("anyk", command), perror("anyk"), _exit(127);
    }
    close(to[0]), close(from[1]);
    FILE *ask = fdopen(to[1], "w"), *answers = fdopen(from[0], "r");
    if (!ask || !answers) return perror("fdopen"), 1;
    char *line = NULL;
    size_t size = 0;
    for (int cell = 0; cell < 3; cell++) {
        fprintf(ask, "{\"cell\":%d,\"users\":[{\"distance_m\":%d},{\"distance_m\":200}]}\n", cell, 60 + 10 * cell);
        fflush(ask); /* anyk answers as soon as the line is complete */
        if (getline(&line, &size, answers) < 0) return fputs("anyk ended\n", stderr), 1;
        fputs(line, stdout);
        if (strstr(line, "\"error\"")) return 1;
    }
    fclose(ask); /* anyk exits at the end of its input */
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
