# SPDX-License-Identifier: GPL-2.0-only
#
# The M-BMBF paper's four figures and the curve of space against error, from the
# tables of bench-filters in the working directory.

set terminal svg size 760,480 font "sans-serif,13" background "white"
set datafile missing "-"
set key autotitle columnhead
set key left top Left reverse samplen 2
set grid lc "#dddddd"
set border 3
set tics nomirror

# Each filter has the same colour and mark in all plots.
set style line 1 lc "#4477aa" lw 2 pt 5 ps 0.7	# split
set style line 2 lc "#66aa55" lw 2 dt 2 pt 7 ps 0.5	# 2BDBF, often on top of split
set style line 3 lc "#cc3311" lw 2 pt 9 ps 0.8	# M-BMBF
set style line 4 lc "#888888" lw 2 pt 4 ps 0.7	# one Bloom filter
set style line 5 lc "#aa3377" lw 2 pt 13 ps 0.8	# ours
set style line 6 lc "#ddaa33" lw 2 pt 6 ps 0.7	# 2BDBF, growing; blocked

set output "fig3-capacity.svg"
set title "Entries held when every row is half full (m = 131072, k = 10, s = 2)"
set xlabel "rows r"
set ylabel "entries, thousands"
plot "fig3-capacity.dat" using 1:($2/1000) title "split" with linespoints ls 1, \
	"" using 1:($3/1000) title "2BDBF" with linespoints ls 2, \
	"" using 1:($4/1000) title "M-BMBF" with linespoints ls 3, \
	"" using 1:($9/1000) title "one Bloom filter of r m bits, M-BMBF's error" with linespoints ls 4

set output "fig4-time.svg"
set title "Query time, 10000 entries, by that of a Bloom filter of 8 m bits"
set ylabel "ratio of times"
set yrange [0:*]
plot "fig4-query.dat" using 1:3 title "split" with linespoints ls 1, \
	"" using 1:4 title "2BDBF of r rows" with linespoints ls 2, \
	"" using 1:7 title "M-BMBF" with linespoints ls 3, \
	"" using 1:2 title "one Bloom filter of r m bits" with linespoints ls 4, \
	"" using 1:8 title "ours" with linespoints ls 5

set output "fig5-time.svg"
set title "Query time, 8 rows, by that of a Bloom filter of 8 m bits"
set xlabel "entries, thousands"
plot "fig5-query.dat" using ($1/1000):3 title "split" with linespoints ls 1, \
	"" using ($1/1000):4 title "2BDBF of 8 rows" with linespoints ls 2, \
	"" using ($1/1000):5 title "2BDBF, growing" with linespoints ls 6, \
	"" using ($1/1000):7 title "M-BMBF" with linespoints ls 3, \
	"" using ($1/1000):2 title "one Bloom filter of 8 m bits" with linespoints ls 4, \
	"" using ($1/1000):8 title "ours" with linespoints ls 5

# Logarithmic, because otherwise all but the last point would lie on the axis. Filters without any
# error, as ours, are not shown.
set output "fig6-error.svg"
set title "False positives, 8 rows (ours: none)"
set ylabel "%"
set logscale y
set yrange [1e-4:100]
set key right bottom
plot "fig6-error.dat" using ($1/1000):($3 > 0 ? $3 : NaN) title "split" with linespoints ls 1, \
	"" using ($1/1000):($4 > 0 ? $4 : NaN) title "2BDBF of 8 rows" with linespoints ls 2, \
	"" using ($1/1000):($5 > 0 ? $5 : NaN) title "2BDBF, growing" with linespoints ls 6, \
	"" using ($1/1000):($7 > 0 ? $7 : NaN) title "M-BMBF" with linespoints ls 3, \
	"" using ($1/1000):($2 > 0 ? $2 : NaN) title "one Bloom filter of 8 m bits" with linespoints ls 4

set output "space.svg"
set title "Space against error"
set xlabel "rate of false positives"
set ylabel "bits an entry"
unset logscale y
set logscale x
set xrange [0.3:1e-5] reverse
set yrange [0:28]
set format x "10^{%T}"
set key left top
set arrow from 0.03, graph 0 to 0.03, graph 1 nohead lc "#aaaaaa" dt 2
set label "3 %" at 0.027, graph 0.03 textcolor "#777777"
ours = real(system("awk '/^1000000/ { print $2 }' space-exact.dat"))
plot "space-bloom.dat" using 3:2 title "Bloom" with linespoints ls 4, \
	"space-blocked.dat" using 3:2 title "blocked Bloom" with linespoints ls 6, \
	"space-cuckoo.dat" using 3:2 title "cuckoo, 4 slots" with linespoints ls 1, \
	"space-semisort.dat" using 3:2 title "semi-sorted cuckoo" with linespoints ls 2, \
	"space-filter.dat" using 3:2 title "ours, filter:ip" with points ls 5, \
	ours title "ours, exact, a million hosts" with lines ls 5
