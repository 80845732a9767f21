package dumpdir

import "dumptool/internal/filename"

// Arrays and other files that no known producer wrote, or that were taken out of
// its folders. Folders named after ranks and steps count as such; what other ones
// stand for is not known.
var arraysProducer = producer{name: Arrays, locate: func(p folderPath, _ *Folder) (place, bool) { return locateAny(p), true }}

// locateAny reads folders such as rank_0, device_0, step_0, step0 and iteration_0,
// in any order.
func locateAny(p folderPath) place {
	var at place
	var rest folderPath
	for _, folder := range p {
		switch folder.Kind {
		case filename.RankFolder:
			at.at.Rank = number(folder.Value)
		case filename.DeviceFolder:
			if at.at.Rank == "" {
				at.at.Rank = number(folder.Value)
			}
		case filename.StepFolder, filename.IterationFolder:
			at.at.Step = number(folder.Value)
		case filename.TimeFolder: // differs between two runs
			at.start = folder.Value
		default:
			rest = append(rest, folder)
		}
	}
	at.at.Folder = rest.join()
	return at
}
