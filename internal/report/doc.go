// Package report turns results into text, tables, JSON and files of other tools:
// Formats lists them, Table is the one model of columns. It gets data and a
// writer or a folder, and knows neither terminals nor settings: how wide a line
// may be and which language is wanted are arguments. It decides nothing about
// the data; that is the work of the packages that make it.
package report
