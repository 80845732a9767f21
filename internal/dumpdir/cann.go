package dumpdir

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
)

// Folders of CANN, after the public documentation of the Ascend toolkit and of msprobe:
//
//	[{step}/]{time}/{device}[/{model name}][/{model id}/{step}]
//	rank_{rank}/{time}/step_{step}/{time}/{device}/{model name}/{model id}/{iteration}
//
// Several processes write folders with different start times side by side. A folder of dumps
// without a start time above it also counts as CANN's.
var cannProducer = producer{name: CANN, locate: locateCANN}

func locateCANN(p folderPath, f *Folder) (pathMeaning, bool) {
	if at, ok := locateTime(p); ok {
		return at, true
	}
	isDump := func(file *File) bool { n := filename.Parse(file.Name); return n.HasDump }
	if !slices.ContainsFunc(f.files, isDump) {
		return pathMeaning{}, false
	}
	return locateAny(p), true
}

// locateTime reads the folders around a start time above a device, false for none.
func locateTime(p folderPath) (pathMeaning, bool) {
	time := -1
	for i := range p {
		if p[i].Kind == filename.TimeFolder && p.at(i+1).Kind == filename.NumberFolder {
			time = i
		}
	}
	if time < 0 {
		return pathMeaning{}, false
	}
	at := pathMeaning{start: p[time].Value, at: Coordinates{Rank: trimZeros(p[time+1].Value)}}
	rest := p[time+2:]
	if n := len(rest); n >= 2 && rest[n-1].IsNumber() && rest[n-2].IsNumber() {
		at.at.Graph, at.at.Step = trimZeros(rest[n-2].Value), trimZeros(rest[n-1].Value)
		rest = rest[:n-2]
	}
	if len(rest) > 0 && !rest[0].IsNumber() {
		at.at.Model = cutStartTime(rest[0].Name)
		rest = rest[1:]
	}
	above := p.at(time - 1)
	if above.Kind == filename.StepFolder || above.Kind == filename.NumberFolder {
		// The iteration is a number inside the step.
		rest = append(slices.Clone(rest), filename.Folder{Name: at.at.Step})
		at.at.Step = trimZeros(above.Value)
	}
	if rank := p[:time].lastOfKind(filename.RankFolder); rank >= 0 {
		at.at.Rank = trimZeros(p[rank].Value)
	}
	at.at.Folder = rest.join()
	return at, true
}

// cutStartTime removes the start time from the name of a model, such as the graph
// ge_default_20210818163201_21 of GE.
func cutStartTime(model string) string {
	kept := slices.DeleteFunc(strings.Split(model, "_"), func(s string) bool { return filename.ParseFolder(s).Kind == filename.TimeFolder })
	return cmp.Or(strings.Join(kept, "_"), model)
}

// The folder of HPAA's tools (DUMP_MEMORY_PATH): cpu and npu with an array for each operator, and
// result with the execution order.
var hpaaProducer = producer{name: HPAA, locate: locateHPAA, finish: finishHPAA}

const hpaaResult = "result"

// hpaaResults are names of HPAA's results. Each identifies its folder.
var hpaaResults = []string{sidefile.RuntimeName, sidefile.ConsumersName, "dump_memory_nodename.log", "check_skip.log", "concate_skip.log", "invalid_out_nodename.log"}

func locateHPAA(p folderPath, f *Folder) (pathMeaning, bool) {
	if store.Base(f.Path) == hpaaResult && slices.ContainsFunc(f.files, func(file *File) bool { return slices.Contains(hpaaResults, file.Name) }) {
		return pathMeaning{isSideFolder: true}, true
	}
	if len(f.files) == 0 || RuntimeFile(f.Path) == "" {
		return pathMeaning{}, false
	}
	return locateAny(p), true
}

// RuntimeFile returns the path of HPAA's execution order of a folder: in the folder, in its results, or in the results
// beside it; empty if HPAA did not write the folder.
func RuntimeFile(folder string) string {
	dirs := []string{folder, store.Join(folder, hpaaResult)}
	if base := store.Base(folder); base == "npu" || base == "cpu" {
		dirs = append(dirs, store.Join(store.Dir(folder), hpaaResult))
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
		if name := RuntimeFile(f.Path); name != "" && !f.isSideFolder {
			file := &File{Folder: &Folder{Path: name, Dir: filepath.ToSlash(store.Dir(name))}, Name: sidefile.RuntimeName}
			r.readOrder(file, ByRuntime, sidefile.ReadRuntime, func(folder *Folder) bool { return folder == f })
		}
	}
}
