package graph_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"dumptool/internal/dumptest"
	"dumptool/internal/graph"
)

// TestIRMemory limits the memory of a graph of 100,000 nodes.
func TestIRMemory(t *testing.T) {
	const nodes = 100_000
	var text bytes.Buffer
	if err := dumptest.WriteGraph(&text, nodes, 0); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	g, err := graph.ReadIR(&text)
	if err != nil || len(g.Nodes) != nodes {
		t.Fatalf("%d nodes, error %v", len(g.Nodes), err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 40<<20 {
		t.Errorf("%d bytes are kept, want 40 MiB at most", kept)
	} else {
		t.Log("kept", kept, "total", after.TotalAlloc-before.TotalAlloc)
	}
	runtime.KeepAlive(g)
	runtime.KeepAlive(text)
}

func BenchmarkReadIR(b *testing.B) {
	var text bytes.Buffer
	if err := dumptest.WriteGraph(&text, 100_000, 0); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := graph.ReadIR(bytes.NewReader(text.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAlikeIR(b *testing.B) {
	var text, other bytes.Buffer
	if err := errors.Join(dumptest.WriteGraph(&text, 100_000, 0), dumptest.WriteGraph(&other, 100_000, 7)); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if !graph.IsSameGraphIR(bytes.NewReader(text.Bytes()), bytes.NewReader(other.Bytes())) {
			b.Fatal("not alike")
		}
	}
}
