package dumpdir

import (
	"path"
	"path/filepath"
	"slices"

	"dumptool/internal/sidefile"
	"dumptool/internal/store"
)

// The folder of HPAA's tools (DUMP_MEMORY_PATH): cpu and npu with an array an
// operator, and result with the order in which they ran.
var hpaaProducer = producer{name: HPAA, locate: locateHPAA, finish: finishHPAA}

const hpaaResult = "result"

// hpaaResults are files of HPAA's results, of which one is enough to know it.
var hpaaResults = []string{sidefile.RuntimeName, sidefile.ConsumersName, "dump_memory_nodename.log", "check_skip.log", "concate_skip.log", "invalid_out_nodename.log"}

func locateHPAA(p folderPath, f *Folder) (place, bool) {
	if store.Base(f.Path) == hpaaResult && slices.ContainsFunc(f.files, func(file *File) bool { return slices.Contains(hpaaResults, file.Name) }) {
		return place{side: true}, true
	}
	if len(f.files) == 0 || runtimeOf(f) == "" {
		return place{}, false
	}
	return locateAny(p), true
}

// runtimeOf returns the path of the order of a folder: in it, in its results, or in
// those beside it; empty for none.
func runtimeOf(f *Folder) string {
	dirs := []string{f.Path, store.Join(f.Path, hpaaResult)}
	if base := store.Base(f.Path); base == "npu" || base == "cpu" {
		dirs = append(dirs, store.Join(store.Dir(f.Path), hpaaResult))
	}
	for _, dir := range dirs {
		name := store.Join(dir, sidefile.RuntimeName)
		if info, err := store.Stat(name); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

func finishHPAA(r *reader, folders []*Folder) {
	for _, f := range folders {
		if name := runtimeOf(f); name != "" && !f.side {
			dir, _ := store.Rel(f.Path, store.Dir(name)) // both have the same beginning
			file := &File{Folder: &Folder{Path: name, Dir: path.Join(f.Dir, filepath.ToSlash(dir))}, Name: sidefile.RuntimeName}
			r.readOrder(file, ByRuntime, sidefile.ReadRuntime, func(of *Folder) bool { return of == f })
		}
	}
}
