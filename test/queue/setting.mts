import { prepareCluster } from '../../tools/queue/cluster.mts';
import type { SimulatorOptions } from '../../simulator/simulator.mts';
import { equip } from '../n8n/setting.mts';

const ENVIRONMENT = {
	// So that a killed worker is missed within seconds: n8n's own figures are 60, 10 and 30 s.
	QUEUE_WORKER_LOCK_DURATION: '10000',
	QUEUE_WORKER_LOCK_RENEW_TIME: '2000',
	QUEUE_WORKER_STALLED_INTERVAL: '4000',
	// As in n8n 3: executions by hand go to the workers, too.
	OFFLOAD_MANUAL_EXECUTIONS_TO_WORKERS: 'true',
};

/** A cluster that is yet to start, with the examples; `extra` are variables for all processes of n8n. */
export async function setUp(options: SimulatorOptions = {}, extra: NodeJS.ProcessEnv = {}) {
	const cluster = await prepareCluster({ ...ENVIRONMENT, ...extra });
	return { cluster, ...(await equip(cluster.main, options, cluster.start, cluster.close)) };
}
