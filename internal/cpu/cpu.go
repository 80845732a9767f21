// Package cpu says which vector instructions the processor has, for the loops that are
// written for them. Programs built with the tag purego use none.
package cpu
