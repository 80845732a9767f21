package overflow

import (
	"cmp"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/store"
)

// dump is the dump of one execution of an operator, or the arrays or the table of
// statistics that stand for it.
type dump struct {
	op    *dumpdir.Op
	round *dumpdir.Round
	at    dumpdir.Coordinates
	dir   string
	// name is that of the dump, fileName the whole of it.
	name      filename.Dump
	fileName  string
	timestamp uint64
	tensors   []dumpdir.Tensor
}

// dumpsOf lists the dumps of rounds, also those that cannot be read: the right
// operator with a broken dump is better than a wrong one. Only those whose names
// have ids can be matched.
func dumpsOf(rounds []*dumpdir.Round) []*dump {
	type key struct{ dir, name string }
	seen := make(map[key]*dump)
	var all []*dump
	for _, round := range rounds {
		for _, op := range round.Ops {
			for _, t := range op.Tensors {
				name := dumpName(t.File)
				if !name.HasDump {
					continue
				}
				k := key{store.Dir(t.File.Path()), cmp.Or(name.Source, name.Stem)}
				d := seen[k]
				if d == nil {
					d = &dump{op: op, round: round, at: round.At, dir: k.dir, name: name.Dump, fileName: k.name, timestamp: cmp.Or(name.Timestamp, op.Timestamp)}
					seen[k] = d
					all = append(all, d)
				}
				d.tensors = append(d.tensors, t)
			}
		}
	}
	return all
}

// dumpName is what the name of a file says, or that of the dump whose statistics
// it has.
func dumpName(f *dumpdir.File) filename.Info {
	if f.Role == dumpdir.Table {
		return filename.Parse(strings.TrimSuffix(f.Name, ".csv"))
	}
	return filename.Parse(f.Name)
}

// file is the first file of the dump.
func (d *dump) file() *dumpdir.File { return d.tensors[0].File }
