// Package report turns results into text and JSON. It gets data and a writer
// or a buffer, and knows neither terminals nor settings: how wide a line may be
// and which language is wanted are arguments. It decides nothing about the
// data; that is the work of the packages that make it.
package report
