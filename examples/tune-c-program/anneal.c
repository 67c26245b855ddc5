/* Shortest round trips by simulated annealing: a program with flags, as there are many.
 *
 *   cc -O2 -o anneal anneal.c -lm
 *   ./anneal --start 1.0 --end 0.01 --move reverse --neighbours 8 --levels 50 [--greedy]
 *
 * It makes round trips through 5 maps of 60 towns, 10000 moves each, and prints their mean length. How good they
 * are depends on the flags. Exit code 2: wrong usage. Exit code 3: --end is above --start, which makes no sense.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOWNS = 60, MAPS = 5, MOVES = 10000 };

static uint64_t state;

static double uniform(void) { /* the same numbers on every machine */
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static double x[TOWNS], y[TOWNS];
static int tour[TOWNS], neighbour[TOWNS][TOWNS];

static double distance(int a, int b) { return hypot(x[a] - x[b], y[a] - y[b]); }

static double length(void) {
    double sum = 0;
    for (int i = 0; i < TOWNS; i++) sum += distance(tour[i], tour[(i + 1) % TOWNS]);
    return sum;
}

static void make_map(int map) {
    state = 88172645463325252ULL + 7919ULL * (uint64_t)map;
    for (int i = 0; i < 100; i++) uniform();
    for (int i = 0; i < TOWNS; i++) {
        x[i] = uniform();
        y[i] = uniform();
        tour[i] = i;
    }
    for (int i = 0; i < TOWNS; i++) { /* the other towns, nearest first */
        int n = 0;
        for (int j = 0; j < TOWNS; j++) {
            if (j == i) continue;
            int k = n++;
            for (; k > 0 && distance(i, neighbour[i][k - 1]) > distance(i, j); k--)
                neighbour[i][k] = neighbour[i][k - 1];
            neighbour[i][k] = j;
        }
    }
}

static void start_greedily(void) { /* always on to the nearest town that is left */
    for (int i = 1; i < TOWNS; i++) {
        int best = i;
        for (int j = i; j < TOWNS; j++)
            if (distance(tour[i - 1], tour[j]) < distance(tour[i - 1], tour[best])) best = j;
        int swapped = tour[i];
        tour[i] = tour[best];
        tour[best] = swapped;
    }
}

static void apply(char move, int i, int j) {
    int town = tour[i];
    if (move == 's') { /* swap two towns */
        tour[i] = tour[j];
        tour[j] = town;
    } else if (move == 'i') { /* insert a town elsewhere */
        if (i < j) memmove(tour + i, tour + i + 1, (size_t)(j - i) * sizeof *tour);
        else memmove(tour + j + 1, tour + j, (size_t)(i - j) * sizeof *tour);
        tour[j] = town;
    } else { /* reverse a part of the tour */
        for (int a = i < j ? i : j, b = i < j ? j : i; a < b; a++, b--) {
            town = tour[a];
            tour[a] = tour[b];
            tour[b] = town;
        }
    }
}

static int position(int town) {
    int i = 0;
    while (tour[i] != town) i++;
    return i;
}

static double anneal(double start, double end, char move, int neighbours, int levels) {
    double now = length(), best = now;
    int before[TOWNS];
    for (int n = 0; n < MOVES; n++) {
        int level = (int)((double)n / MOVES * levels);
        double temperature = start * pow(end / start, levels > 1 ? (double)level / (levels - 1) : 0.0);
        int i = (int)(uniform() * TOWNS);
        int j = (position(neighbour[tour[i]][(int)(uniform() * neighbours)]) + TOWNS - 1) % TOWNS;
        memcpy(before, tour, sizeof tour);
        apply(move, i, j);
        double then = length();
        if (then <= now || uniform() < exp((now - then) / temperature)) now = then;
        else memcpy(tour, before, sizeof tour);
        if (now < best) best = now;
    }
    return best;
}

static void refuse(const char *why) {
    fprintf(stderr, "anneal: %s\n", why);
    exit(2);
}

int main(int count, char **arguments) {
    double start = 0.1, end = 0.1;
    int neighbours = TOWNS - 1, levels = 1, greedy = 0;
    char move = 's';
    for (int i = 1; i < count; i++) {
        const char *flag = arguments[i];
        if (!strcmp(flag, "--greedy")) {
            greedy = 1;
            continue;
        }
        if (i + 1 == count) refuse("a flag has no value");
        const char *value = arguments[++i];
        if (!strcmp(flag, "--start")) start = atof(value);
        else if (!strcmp(flag, "--end")) end = atof(value);
        else if (!strcmp(flag, "--move")) move = value[0];
        else if (!strcmp(flag, "--neighbours")) neighbours = atoi(value);
        else if (!strcmp(flag, "--levels")) levels = atoi(value);
        else refuse("unknown flag");
    }
    if (start <= 0 || end <= 0 || levels < 1 || neighbours < 1 || neighbours >= TOWNS || !strchr("sir", move))
        refuse("a value is out of range");
    if (end > start) {
        fprintf(stderr, "anneal: it must end colder than it starts\n");
        return 3;
    }
    double sum = 0;
    for (int map = 0; map < MAPS; map++) {
        make_map(map);
        if (greedy) start_greedily();
        double best = anneal(start, end, move, neighbours, levels);
        printf("map %d: %.4f\n", map, best);
        sum += best;
    }
    printf("mean length = %.6f\n", sum / MAPS);
    return 0;
}
