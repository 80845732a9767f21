package dumpdir

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Folders of msprobe, after its source:
//
//	step{step}/rank{rank}|proc{pid}/dump.json, stack.json, construct.json
//	step{step}/rank{rank}|proc{pid}/dump_tensor_data/{api}.{input|output}.{index}.pt
//
// dump.json has the operators in execution order as the keys of its data.
var msprobeProducer = producer{name: MSProbe, locate: locateMSProbe, identify: identifyMSProbe, finish: finishMSProbe}

const msprobeTensors = "dump_tensor_data"

// dumpJSONs are the names of the list of operators.
var dumpJSONs = []string{"dump.json", "debug.json"}

func locateMSProbe(p folderPath, f *Folder) (place, bool) {
	holds := f
	if path.Base(f.Dir) == msprobeTensors && f.parent != nil {
		holds, p = f.parent, p[:max(len(p)-1, 0)]
	}
	if dumpJSON(holds) == nil {
		return place{}, false
	}
	return locateAny(p), true
}

// dumpJSON returns the list of operators of a folder, nil if it has none.
func dumpJSON(f *Folder) *File {
	for _, file := range f.files {
		if slices.Contains(dumpJSONs, file.Name) {
			return file
		}
	}
	return nil
}

// The kinds of tensors that only msprobe has.
const (
	Parameter tensor.Kind = "parameter"
	Gradient  tensor.Kind = "gradient" // of a parameter
)

// msprobeKinds are what stands between an operator and the place of a tensor.
var msprobeKinds = []struct {
	word string
	kind tensor.Kind
}{{".input", tensor.Input}, {".output", tensor.Output}, {".parameters", Parameter}, {".parameters_grad", Gradient}}

// identifyMSProbe reads names such as Functional.relu.0.forward.input.0.pt.
func identifyMSProbe(f *File) identity {
	if path.Base(f.Folder.Dir) != msprobeTensors || tensorfile.ContainerOf(f.Name) == nil && !strings.HasSuffix(f.Name, ".pt") {
		return identifyByName(f)
	}
	return cutMSProbe(strings.TrimSuffix(f.Name, path.Ext(f.Name)))
}

// cutMSProbe takes the name of a tensor apart: the operator, its entry in dump.json;
// the kind; the first number behind it; and what is left, such as the name of a
// parameter or the place in a nested value.
func cutMSProbe(stem string) identity {
	id := identity{role: Tensors, op: stem, kind: tensor.Output}
	at := -1
	for _, k := range msprobeKinds {
		i := strings.LastIndex(stem, k.word)
		if i <= 0 || i <= at {
			continue
		}
		rest, ok := strings.CutPrefix(stem[i+len(k.word):], ".")
		if !ok && rest != "" {
			continue
		}
		at = i
		id.op, id.kind = stem[:i], k.kind
		if k.kind == Gradient { // the entry is that of the gradients
			id.op = stem[:i+len(k.word)]
		}
		digits, after, _ := strings.Cut(rest, ".")
		n, err := strconv.ParseUint(digits, 10, 31)
		switch {
		case err != nil:
			id.index, id.slice = 0, rest
		case k.kind == Gradient:
			id.op, id.index, id.slice = id.op+"."+digits, 0, after
		default:
			id.index, id.slice = int(n), after
		}
	}
	return id
}

func finishMSProbe(r *reader, folders []*Folder) {
	filled := make(map[*Folder]bool)
	for i := range r.entries {
		f := r.entries[i].file.Folder
		filled[f], filled[f.parent] = true, true
	}
	for _, f := range folders {
		file := dumpJSON(f)
		if file == nil {
			continue
		}
		var names []string
		r.readOrder(file, ByDumpJSON, func(in io.Reader, name string) (*sidefile.Order, error) {
			var err error
			if names, err = readDumpJSON(in); len(names) == 0 {
				return nil, err
			}
			return sidefile.NewOrder(name, names), err
		}, func(of *Folder) bool { return of == f || of.parent == f })
		if filled[f] {
			continue
		}
		// The list is all that there is: it holds statistics or digests.
		file.Role = Table
		for _, name := range names {
			r.entries = append(r.entries, entry{identity: identity{role: Table, op: name}, file: file, at: r.coordinatesOf(f, "")})
		}
	}
}

// maxDumpJSON is how large dump.json may be, in bytes.
const maxDumpJSON = 1 << 30

// readDumpJSON returns the keys of data in dump.json, in their order. Of a file that
// is cut it returns the whole entries, with an error that says where it ends.
func readDumpJSON(in io.Reader) (names []string, err error) {
	r := jsonpos.NewReader(in, maxDumpJSON)
	r.Python = true
	found := false
	err = r.Object(func(key string) error {
		if key != "data" || r.Kind() != jsonpos.Object {
			return r.Skip()
		}
		found = true
		return r.Object(func(api string) error {
			err := r.Skip()
			if err == nil {
				names = append(names, api)
			}
			return err
		})
	})
	if err == nil {
		err = r.End()
	}
	if err == nil && !found {
		err = errors.New("there is no data, want an object with an entry an operator")
	}
	if err != nil {
		err = fmt.Errorf("dump.json: %w", err)
	}
	return names, err
}
