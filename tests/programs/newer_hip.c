/* Stands for a HIP that is newer than the list: one function more. */
int hipTomorrow(int x) { return x + 1; }
int hipiness_is_not_of_hip(int x) { return x; }
