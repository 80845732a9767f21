// Package plot draws the pictures of a failing operator that HPAA promises: its
// errors by their places, the distribution of the errors, and that of the values of
// both sides. The pictures are PNG files of a few colours. They are a function of the
// data alone: no clock, no fonts but those that are linked.
//
// Texts are drawn by gonum/plot's vg; lines and what is plotted are set pixel by
// pixel, since its lines and glyphs take seconds where there are thousands.
package plot
