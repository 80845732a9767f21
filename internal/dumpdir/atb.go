package dumpdir

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// Folders of ATB (MindIE), after the source of msprobe:
//
//	atb_dump_data/data/{device}_{pid}/{count}/{id}_{op}/[{id}_{op}/...]{before|after}/intensor{k}[_{name}].bin
//	atb_dump_data/data/{device}_{pid}/{count}/statistic.csv
//
// The folders below the count are the operator and the operators around it, the outermost first.
var atbProducer = producer{name: ATB, locate: locateATB, identify: identifyATB, finish: finishATB}

var (
	atbProcess = lang.Pattern(`^([0-9]+)_([0-9]+)$`)
	atbOp      = lang.Pattern(`^([0-9]+)_.`)
)

// The folders of the tensors before and after the execution.
const (
	atbBefore = "before"
	atbAfter  = "after"
)

func locateATB(p folderPath, f *Folder) (pathMeaning, bool) {
	if !isATBFolder(f) {
		return pathMeaning{}, false
	}
	for i := range p {
		m := atbProcess().FindStringSubmatch(p[i].Name)
		if m == nil || !p.at(i+1).IsNumber() {
			continue
		}
		return pathMeaning{
			at: Coordinates{Rank: trimZeros(m[1]), Step: trimZeros(p[i+1].Value), Folder: trimZeros(m[2])},
			op: atbName(p[i+2:]),
		}, true
	}
	return pathMeaning{op: atbName(p)}, true
}

// isATBFolder reports whether a folder holds ATB's tensors or statistics.
func isATBFolder(f *Folder) bool {
	if base := path.Base(f.Dir); base == atbBefore || base == atbAfter {
		if slices.ContainsFunc(f.files, func(file *File) bool { _, ok := atbTensor(file.Name); return ok }) {
			return true
		}
	}
	if !slices.ContainsFunc(f.files, func(file *File) bool { return strings.EqualFold(file.Name, statisticName) }) {
		return false
	}
	abs, err := store.Abs(f.Path) // a table of statistics lies in the folder of a process and a count
	return err == nil && atbProcess().MatchString(store.Base(store.Dir(abs)))
}

// atbTensor reads names such as intensor0.bin.
func atbTensor(name string) (filename.Info, bool) {
	n := filename.Parse(name)
	return n, n.Grammar == filename.ATB && n.Ext == ".bin"
}

// atbName returns the operator of folders: the last folders that begin with an id, without before
// and after.
func atbName(p folderPath) string {
	if n := len(p); n > 0 && (p[n-1].Name == atbBefore || p[n-1].Name == atbAfter) {
		p = p[:n-1]
	}
	first := len(p)
	for first > 0 && atbOp().MatchString(p[first-1].Name) {
		first--
	}
	return p[first:].join()
}

// identifyATB returns the tensor of a file in a folder of an operator.
func identifyATB(f *File) identity {
	n, ok := atbTensor(f.Name)
	if !ok {
		return identifyByName(f)
	}
	id := atbIdentity(f.Folder.op)
	id.role, id.kind, id.index = Tensors, n.Kind, n.Index
	if n.Kind == tensor.Input && path.Base(f.Folder.Dir) == atbAfter {
		id.slice = atbAfter
	}
	return id
}

// atbIdentity is the identity of an operator such as 0_WordEmbedding/0_GatherOperation.
func atbIdentity(op string) identity {
	id := identity{op: op, opType: op[strings.LastIndexByte(op, '/')+1:]}
	for part := range strings.SplitSeq(op, "/") {
		digits, name, ok := strings.Cut(part, "_")
		n, err := strconv.ParseUint(digits, 10, 64)
		if !ok || err != nil {
			id.IDs = nil
			break
		}
		id.IDs, id.opType = append(id.IDs, n), name
	}
	return id
}

func finishATB(r *reader, folders []*Folder) {
	dumped := make(map[string]bool) // operators with files, whose types are in their names
	for _, e := range r.entries {
		dumped[e.op] = true
	}
	for _, f := range folders {
		for _, file := range f.files {
			if !strings.EqualFold(file.Name, statisticName) {
				continue
			}
			var names []string
			r.readTable(file, func(s *statisticRow) identity {
				op := atbRowName(s)
				names = append(names, op)
				id := atbIdentity(op)
				if s.opType != "" && !dumped[op] {
					id.opType = s.opType
				}
				return id
			})
			order := sidefile.NewOrder("statistics "+r.relativePath(file), names)
			r.orders = append(r.orders, sideOrder{ByStatistics, order, func(folder *Folder) bool { return folder.At == f.At }})
		}
	}
}

// atbRowName returns the operator of a row of statistic.csv in the spelling of folders: operator
// A/B with ids 0_1 becomes 0_A/1_B.
func atbRowName(s *statisticRow) string {
	names, ids := strings.Split(s.opName, "/"), strings.Split(s.opID, "_")
	if len(names) != len(ids) {
		return s.opName
	}
	for i, name := range names {
		if _, err := strconv.ParseUint(ids[i], 10, 64); err != nil {
			return s.opName
		}
		if !atbOp().MatchString(name) {
			names[i] = ids[i] + "_" + name
		}
	}
	return strings.Join(names, "/")
}
