package page

import (
	"path"
	"strings"
	"time"

	"dumptool/internal/compare/record"
	"dumptool/internal/filename"
	"dumptool/internal/tensor"
)

// dumps is what the page says of the files of a side: all of it is in their names and in the
// rows, nothing in the clock of a machine.
type dumps struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"` // of the tensors that were compared
	// Oldest and Newest are the times in the names of the files, in UTC; empty without any.
	Oldest string `json:"oldest,omitempty"`
	Newest string `json:"newest,omitempty"`
}

// sideDumps gathers what is known of the files of a side.
type sideDumps struct {
	dumps
	seen           map[string]bool
	oldest, newest uint64 // microseconds since 1970
}

// The times that names of dumps may have, in microseconds: from 2000 to 2100.
const earliestTime, latestTime = 946_684_800_000_000, 4_102_444_800_000_000

// add adds the file of a row, of which elements of a type were compared.
func (d *sideDumps) add(name string, dtype tensor.DType, elements int64) {
	if bytes, ok := dtype.Bytes(elements); ok {
		d.Bytes += bytes
	}
	file, _, _ := strings.Cut(path.Base(strings.ReplaceAll(name, `\`, "/")), ":")
	whole := strings.TrimSuffix(name, name[strings.LastIndex(name, file)+len(file):])
	if name == "" || d.seen[whole] {
		return
	}
	d.seen[whole] = true
	d.Files++
	at := filename.Parse(file).Timestamp
	if at < earliestTime || at >= latestTime {
		return
	}
	if d.oldest == 0 || at < d.oldest {
		d.oldest = at
	}
	d.newest = max(d.newest, at)
}

func (d *sideDumps) finish() dumps {
	if d.oldest > 0 {
		at := func(t uint64) string { return time.UnixMicro(int64(t)).UTC().Format("2006-01-02 15:04:05") }
		d.Oldest, d.Newest = at(d.oldest), at(d.newest)
	}
	return d.dumps
}

// dumpsOf are the files of the reference and of the NPU that rows name.
func dumpsOf(r *record.Report) [2]dumps {
	ref, npu := sideDumps{seen: map[string]bool{}}, sideDumps{seen: map[string]bool{}}
	for _, row := range r.All() {
		elements := int64(0)
		if row.Result != nil {
			elements = row.Result.Total
		}
		ref.add(row.RefFile, row.RefDType, elements)
		npu.add(row.NPUFile, row.NPUDType, elements)
	}
	return [2]dumps{ref.finish(), npu.finish()}
}
