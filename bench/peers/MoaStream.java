import com.yahoo.labs.samoa.instances.Instance;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import moa.classifiers.Classifier;
import moa.core.Example;
import moa.streams.ArffFileStream;

/**
 * Runs one of MOA's classifiers over an ARFF file whose last attribute is the class, each row first predicted and then learnt, and prints one JSON
 * object: java -cp moa.jar MoaStream.java "meta.AdaptiveRandomForest -s 10" FILE SEED LIMIT_SECONDS
 */
public class MoaStream {
    static final int BINS = 15;

    public static void main(String[] args) throws Exception {
        Classifier learner = (Classifier) moa.options.ClassOption.cliStringToObject(args[0], Classifier.class, null);
        ArffFileStream stream = new ArffFileStream(args[1], -1);
        double limit = Double.parseDouble(args[3]);
        stream.prepareForUse();
        if (learner.isRandomizable()) {
            learner.setRandomSeed(Integer.parseInt(args[2]) + 1);
        }
        learner.prepareForUse();
        // Not before: some learners forget it when they are made ready.
        learner.setModelContext(stream.getHeader());
        int classes = stream.getHeader().numClasses();
        long rows = 0, right = 0, repeated = 0, predict = 0, learn = 0;
        int last = -1;
        double loss = 0;
        double[][] bins = new double[BINS][3];
        while (stream.hasMoreInstances() && (limit == 0 || (predict + learn) / 1e9 < limit)) {
            Example<Instance> row = stream.nextInstance();
            long start = System.nanoTime();
            double[] votes = learner.getVotesForInstance(row);
            long predicted = System.nanoTime();
            learner.trainOnInstance(row);
            learn += System.nanoTime() - predicted;
            predict += predicted - start;
            int label = (int) row.getData().classValue();
            double sum = 0;
            for (int c = 0; c < votes.length; c++) {
                // Some are infinite, and some are no numbers.
                votes[c] = votes[c] > 0 ? Math.min(votes[c], 1e300 / votes.length) : 0;
                sum += votes[c];
            }
            int best = 0;
            double[] p = new double[classes];
            for (int c = 0; c < classes; c++) {
                p[c] = sum > 0 ? (c < votes.length ? votes[c] : 0) / sum : 1.0 / classes;
                best = p[c] > p[best] ? c : best;
            }
            rows++;
            right += best == label ? 1 : 0;
            repeated += label == last ? 1 : 0;
            last = label;
            loss -= Math.log(Math.max(p[label], 1e-15));
            double[] bin = bins[Math.min((int) (p[best] * BINS), BINS - 1)];
            bin[0]++;
            bin[1] += p[best];
            bin[2] += best == label ? 1 : 0;
        }
        double ece = 0;
        for (double[] bin : bins) {
            ece += Math.abs(bin[1] - bin[2]) / rows;
        }
        double accuracy = (double) right / rows, same = (double) repeated / rows;
        long peak = Files.readAllLines(Path.of("/proc/self/status")).stream().filter(line -> line.startsWith("VmHWM"))
                .mapToLong(line -> 1024 * Long.parseLong(line.replaceAll("[^0-9]", ""))).findFirst().orElse(0);
        System.out.printf(Locale.ROOT, "{\"rows\": %d, \"seconds\": {\"learn\": %f, \"predict\": %f}, \"rows_per_second\": %f, "
                + "\"prequential\": {\"accuracy\": %f, \"kappa_temporal\": %f, \"log_loss\": %f, \"ece\": %f}, "
                + "\"peak_memory_bytes\": %d, \"stopped\": %b}%n", rows, learn / 1e9, predict / 1e9, rows * 1e9 / (predict + learn),
                accuracy, (accuracy - same) / (1 - same), loss / rows, ece, peak, stream.hasMoreInstances());
    }
}
