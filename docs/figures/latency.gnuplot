# Mean latency of a chase over its footprint; data by latency.py.
#   gnuplot -e "l1='l1.txt'; l2='l2.txt'; output='h200-latency.svg'; name='…'" latency.gnuplot
set terminal svg size 820,360 dynamic font "Helvetica,13" background "white"
set output output
set logscale x 2
set xlabel "footprint (KiB)"
set ylabel "cycles per load"
set grid ytics lc rgb "#dddddd"
set key left top
set yrange [0:*]
set title name
plot l1 using 1:2 with linespoints pt 7 ps 0.4 lc rgb "#1b6ca8" title "global, cached in L1", \
     l2 using 1:2 with linespoints pt 7 ps 0.4 lc rgb "#c8553d" title "global, past L1"
