package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// The targets of a page of 5,000 tensors.
const (
	pageTarget   = 1.0       // seconds beyond the comparison itself
	reportTarget = 1.5       // seconds of report
	pageSize     = 5_000_000 // bytes
)

// page measures the page of a comparison, beyond what compare.json alone takes, and
// that made of compare.json.
func (b *bench) page(ctx context.Context) error {
	tensors := b.scaled(5000, 100)
	golden, npu, out := filepath.Join(b.scratch, "page-golden"), filepath.Join(b.scratch, "page-npu"), filepath.Join(b.scratch, "page")
	if err := makePairs(golden, npu, tensors); err != nil {
		return err
	}
	var beyond, again []float64
	for range b.runs + 1 {
		var both [2]sample
		for i, format := range []string{"json", "json,html"} {
			var err error
			if both[i], err = measure(ctx, b.binary, "compare", "--cpu", golden, "--npu", npu, "--exit-zero", "-q", "--format", format, "-out", out); err != nil {
				return err
			}
		}
		s, err := measure(ctx, b.binary, "report", filepath.Join(out, "compare.json"), "-out", filepath.Join(out, "again.html"), "-q")
		if err != nil {
			return err
		}
		beyond, again = append(beyond, (both[1].wall-both[0].wall).Seconds()), append(again, s.wall.Seconds())
	}
	info, err := os.Stat(filepath.Join(out, "report.html"))
	if err != nil {
		return err
	}
	name := fmt.Sprintf("page of %d tensors", tensors)
	m, r := median(beyond[1:]), median(again[1:]) // the first run reads the files
	b.report(
		result{job: name, measured: fmt.Sprintf("%.2f s", m), target: fmt.Sprintf("< %g s", pageTarget), verdict: verdict(m < pageTarget), note: "beyond compare.json"},
		result{job: name + ", size", measured: fmt.Sprintf("%.1f MB", float64(info.Size())/1e6), target: fmt.Sprintf("<= %.1f MB", pageSize/1e6), verdict: verdict(info.Size() <= pageSize)},
		result{job: fmt.Sprintf("report of %d tensors", tensors), measured: fmt.Sprintf("%.2f s", r), target: fmt.Sprintf("< %g s", reportTarget), verdict: verdict(r < reportTarget)},
	)
	return nil
}
