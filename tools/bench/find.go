package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"dumptool/internal/dumptest"
)

// graphNodes is the size of the graph that find is measured with.
const graphNodes = 100_000

// graphRanks is how many ranks the second tree has; their graphs differ a little.
const graphRanks = 8

// find measures a query in a graph that MindSpore saved, and in those of several ranks,
// with one worker.
func (b *bench) find(ctx context.Context) error {
	one, all := filepath.Join(b.scratch, "graph"), filepath.Join(b.scratch, "graphs")
	nodes := b.scaled(graphNodes, 10_000)
	line := fmt.Sprintf("backbone_%d.py:88", nodes/5000*7/20) // a file has 5,000 nodes
	for rank := range graphRanks {
		if err := makeGraph(all, rank, nodes); err != nil {
			return err
		}
	}
	if err := makeGraph(one, 0, nodes); err != nil {
		return err
	}
	var samples, ranks []sample
	for range b.runs + 1 {
		s, err := measure(ctx, b.binary, "find", "-j", "1", "-d", one, line)
		if err != nil {
			return err
		}
		r, err := measure(ctx, b.binary, "find", "-j", "1", "-d", all, line)
		if err != nil {
			return err
		}
		samples, ranks = append(samples, s), append(ranks, r)
	}
	samples, ranks = samples[1:], ranks[1:] // the first one reads the files
	m := median(seconds(samples))
	b.report(result{
		job: "find a line", measured: fmt.Sprintf("%.2f s", m), target: fmt.Sprintf("< %v", findTarget),
		verdict: verdict(m < findTarget.Seconds()), note: fmt.Sprintf("%d nodes, median of %d", nodes, len(samples)),
	}, memoryResult("find a line", samples, findMemory),
		speedResult(fmt.Sprintf("find on %d ranks", graphRanks), ranks, "one", samples, ranksTarget))
	return nil
}

// The targets of find.
const (
	findTarget  = time.Second
	findMemory  = 96 << 20
	ranksTarget = 2.0 // times one rank
)

// makeGraph writes the graph of a rank, of so many nodes.
func makeGraph(dir string, rank, nodes int) (err error) {
	dir = filepath.Join(dir, fmt.Sprintf("rank_%d", rank), "graphs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "ms_output_trace_code_graph_0.ir"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return dumptest.WriteGraph(f, nodes, rank)
}
