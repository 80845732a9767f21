package dumpdir

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/sidefile"
)

// Folders of MindSpore, by version, after its public documentation:
//
//	{net}[/{device}|/device_{device}]/iteration_{step}               1.0 to 1.2, synchronous
//	{device}|device_{device}/{net}_graph_{graph}/{graph}/{step}      1.0 to 1.2, asynchronous
//	rank_{rank}/{net}/{graph}/{step}                                 later
//	rank_{rank}/{net}/{graph}/constants
//	rank_{rank}/debug_files/{step}                                   overflow records
//
// beside graphs, execution_order, .metadata and .dump_metadata, which hold no
// tensors. Dumps through ACL lie in the folders of CANN.
var mindsporeProducer = producer{name: MindSpore, locate: locateMindSpore, finish: finishMindSpore}

// The folders of MindSpore without tensors.
const executionFolder = "execution_order"

var (
	metadataFolders = []string{".metadata", ".dump_metadata"}
	mindsporeSides  = append([]string{executionFolder, graphsFolder}, metadataFolders...)
)

// debugFolder is the folder of overflow records, beside the folders of nets.
const debugFolder = "debug_files"

func locateMindSpore(p folderPath, _ *Folder) (pathMeaning, bool) {
	if _, ok := locateTime(p); ok {
		return pathMeaning{}, false
	}
	if n := len(p); n > 0 && slices.Contains(mindsporeSides, p[n-1].Name) {
		at, ok := locateMindSpore(p[:n-1], nil)
		if device, isDevice := deviceFolder(p.at(n - 2)); !ok && isDevice {
			at.at.Rank = device
		}
		at.isSideFolder = true
		return at, true
	}
	if rank := p.lastOfKind(filename.RankFolder); rank >= 0 {
		return locateRank(trimZeros(p[rank].Value), p[rank+1:])
	}
	if graph := p.lastOfKind(filename.GraphFolder); graph >= 0 {
		if device, ok := deviceFolder(p.at(graph - 1)); ok {
			return locateGraph(device, p[graph:])
		}
	}
	if step := p.lastOfKind(filename.IterationFolder); step >= 0 {
		at := pathMeaning{at: Coordinates{Step: trimZeros(p[step].Value), Folder: p[step+1:].join()}}
		net := step - 1
		if device, ok := deviceFolder(p.at(net)); ok {
			at.at.Rank = device
			net--
		}
		at.at.Model = p.at(net).Name
		return at, at.at.Model != ""
	}
	return pathMeaning{}, false
}

// deviceFolder returns the device in the name of a folder.
func deviceFolder(f filename.Folder) (string, bool) {
	if f.Kind == filename.NumberFolder || f.Kind == filename.DeviceFolder {
		return trimZeros(f.Value), true
	}
	return "", false
}

// locateRank reads the folders below the folder of a rank.
func locateRank(rank string, p folderPath) (pathMeaning, bool) {
	at := pathMeaning{at: Coordinates{Rank: rank}}
	switch {
	case p.at(0).Name == debugFolder:
		if p.at(1).IsNumber() {
			at.at.Step = trimZeros(p[1].Value)
		}
		return at, true
	case len(p) < 2 || !p[1].IsNumber():
		return at, false // not a folder of MindSpore, or outside all rounds
	}
	at.at.Model, at.at.Graph = p[0].Name, trimZeros(p[1].Value)
	rest := p[2:]
	if len(rest) > 0 && rest[0].IsNumber() {
		at.at.Step = trimZeros(rest[0].Value)
		rest = rest[1:]
	}
	at.at.Folder = rest.join()
	return at, true
}

// locateGraph reads the coordinates in the folder names of a path, beginning at the folder of the net and graph.
func locateGraph(device string, p folderPath) (pathMeaning, bool) {
	at := pathMeaning{at: Coordinates{Rank: device, Model: p[0].Value, Graph: trimZeros(p[0].Name[strings.LastIndexByte(p[0].Name, '_')+1:])}}
	rest := p[1:]
	if len(rest) > 0 && rest[0].IsNumber() {
		at.at.Graph = trimZeros(rest[0].Value)
		rest = rest[1:]
	}
	if len(rest) > 0 && rest[0].IsNumber() {
		at.at.Step = trimZeros(rest[0].Value)
		rest = rest[1:]
	}
	at.at.Folder = rest.join()
	return at, true
}

// finishMindSpore reads the execution orders, the tables of statistics and the versions.
func finishMindSpore(r *reader, folders []*Folder) {
	for _, f := range folders {
		for _, file := range f.files {
			if strings.EqualFold(file.Name, statisticName) {
				r.readTable(file, func(s *statisticRow) identity {
					return identity{op: s.opName, opType: s.opType, Moment: s.Moment}
				})
			} else if graph, ok := executionGraph(file.Name); ok && path.Base(f.Dir) == executionFolder {
				// In the oldest layout rounds have no graph.
				r.readOrder(file, ByExecution, sidefile.ReadExecutionOrder, func(of *Folder) bool {
					return (f.At.Rank == "" || f.At.Rank == of.At.Rank) && (of.At.Graph == graph || of.At.Graph == "")
				})
			} else if file.Name == configName && slices.Contains(metadataFolders, path.Base(f.Dir)) {
				r.readConfig(file)
			}
		}
	}
}

// statisticName is the table of statistics of a folder.
const statisticName = "statistic.csv"

// executionGraph returns the graph in the name of a file with an execution order.
func executionGraph(name string) (string, bool) {
	graph, ok := strings.CutPrefix(name, "ms_execution_order_graph_")
	graph, ok2 := strings.CutSuffix(graph, ".csv")
	if _, err := strconv.ParseUint(graph, 10, 64); !ok || !ok2 || err != nil {
		return "", false
	}
	return trimZeros(graph), true
}
