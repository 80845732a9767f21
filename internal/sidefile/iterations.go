package sidefile

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"dumptool/internal/misfit"
)

// Iterations is which iterations a graph of MindSpore was executed in.
type Iterations struct {
	// Numbers are the iterations as they ran; one that ran again is there again.
	Numbers []uint64
	// Misfits are the lines that hold none.
	Misfits misfit.List
}

// GlobalOrder begins the names of the files that ReadIterations reads; the number of a
// root graph and .csv follow.
const GlobalOrder = "ms_global_execution_order_graph_"

// ReadIterations reads MindSpore's ms_global_execution_order_graph_N.csv: the number of
// an iteration in every line, which the writer appends when the root graph N has run.
func ReadIterations(r io.Reader) (*Iterations, error) {
	data, err := readAll(r)
	if err != nil {
		return nil, fmt.Errorf("global execution order: %w", err)
	}
	all := new(Iterations)
	line, offset := 0, 0
	for text := range strings.Lines(string(data)) {
		line++
		cell := strings.Trim(text, " \t\r\n,\"")
		n, err := strconv.ParseUint(cell, 10, 64)
		switch {
		case err == nil:
			all.Numbers = append(all.Numbers, n)
		case cell != "":
			all.Misfits.Add(line, int64(offset), []byte(text), "the number of an iteration")
		}
		offset += len(text)
	}
	return all, nil
}
